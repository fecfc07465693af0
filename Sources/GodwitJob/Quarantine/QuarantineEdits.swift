/// The counts of applying an edited quarantine to its source.
package struct QuarantineEdits: Sendable, Hashable {
  /// Objects of the quarantine that the copy has as they were edited.
  package var edited: Int64
  /// Objects of the quarantine that are as the source has them.
  package var unchanged: Int64
  /// Objects that were deleted from the quarantine, and so from the copy.
  package var deleted: Int64
  /// Why the copy lacks indexes of the source that only the application can make.
  package var leftOut: [String] = []

  package init(edited: Int64, unchanged: Int64, deleted: Int64) {
    (self.edited, self.unchanged, self.deleted) = (edited, unchanged, deleted)
  }
}
