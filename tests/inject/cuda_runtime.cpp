// Stands for NVIDIA's libcudart where only its place matters: CUPTI is looked for beside it.
