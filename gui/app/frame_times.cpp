#include "gui/app/frame_times.h"

#include "backend/base/error.h"

namespace spscope::gui {

FrameTimes::FrameTimes(const std::string& path) : file_(path, std::ios::trunc) {
  if (!file_)
    throw Error(ErrorCode::kOutputPlace, "cannot write \"" + path + "\"", "choose a folder that you may write to");
  file_ << "begin_ns,build_begin_ns,built_ns,end_ns,actions,answered,busy,early,ready\n" << std::flush;
}

void FrameTimes::add(const FrameTime& f) {
  file_ << f.begin_ns << ',' << f.build_begin_ns << ',' << f.built_ns << ',' << f.end_ns << ',' << f.actions << ','
        << f.answered << ',' << f.busy << ',' << f.early << ',' << f.ready << '\n'
        << std::flush;
}

}  // namespace spscope::gui
