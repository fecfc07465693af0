/// The most that a run will write in each place, in addition to what is there. The estimate errs on the high side.
package struct DiskNeed: Sendable, Hashable, Codable {
  /// In the work folder beside the destination: stores under construction with their indexes and journal, spill files,
  /// external files that cannot be linked, what an atomic store is converted into or written from.
  package var destinationBytes: Int64
  /// In the folder of temporary files: what SQLite sorts outside of memory.
  package var temporaryBytes: Int64

  package init(destinationBytes: Int64, temporaryBytes: Int64) {
    self.destinationBytes = destinationBytes
    self.temporaryBytes = temporaryBytes
  }

  /// Both together, in bytes.
  package var totalBytes: Int64 { destinationBytes + temporaryBytes }
}
