#include "descriptors.h"

bool descriptors_ready(struct task *task) { return task->fd_ready; }
