// Folders and files of this user in places where others may write too: /tmp, /dev/shm, the folder of a group. What a
// name stands for there may have been put in its place by somebody else, so nothing is removed or used before it was
// found to belong to this user.
#pragma once

#include <optional>
#include <string>

namespace spscope {

// A folder, and no link to one, that belongs to the user of this process.
bool is_own_folder(const std::string& path);

// Makes a folder that only this user may enter, with six random characters behind `beginning`, and returns its path;
// nothing, with errno, when it cannot be made.
std::optional<std::string> make_own_folder(const std::string& beginning);

// Removes the folder with all that is in it, if it is one of this user. Links in it are removed, not followed. What
// cannot be removed stays.
void remove_own_folder(const std::string& path);

// Whether the path stands for the very file that is open, and not for a link to it or for another one.
bool names_file(const std::string& path, int descriptor);

}  // namespace spscope
