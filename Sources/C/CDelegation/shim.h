// Functions of Swift's runtime that compiled code calls for `unowned` and `weak` references, and that Swift cannot call by name:
// `include/swift/Runtime/HeapObject.h` and `docs/Runtime.md` in the repository of Swift. They are exported symbols of its ABI. An object
// is given by its address.
#ifndef DELEGATION_REFERENCES_H
#define DELEGATION_REFERENCES_H

// Keeps the memory of an object until `swift_unownedRelease`, but not the object. Returns the object.
void *swift_unownedRetain(void *object);
void swift_unownedRelease(void *object);

// Keeps an object, whose memory is kept, until `swift_release`. Returns the object, or NULL if it was released.
void *swift_tryRetain(void *object);

#endif
