// Package localfiles moves files between a workbench and a directory of this machine, for programs that need local
// paths. Those paths identify nothing in the workbench; it is a copy, one way or the other.
//
// Invariants, cited in tests:
//
//  1. Nothing outside of the directory is read or written, whatever is in it and whatever changes meanwhile: all access is
//     below an os.Root, and a link or special file on the way is refused by name. The directory itself is no link either.
//  2. A file has its name in the directory only when its bytes have the digest that the workbench has for them.
//  3. What is equal on both sides already is not moved. A download that was cut off goes on where it ended.
//  4. A file in the workbench is replaced only in the generation that was compared; somebody else's newer one stays.
//  5. One file that cannot be moved does not keep the others from it; all are named in the report.
package localfiles
