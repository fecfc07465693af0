package import Foundation
import GodwitEngine
package import GodwitJob
import GodwitModel

extension QuarantineEdits {
  /// Writes the edited objects of a quarantine into a copy of the source, with links and external files.
  ///
  /// The copy appears when it is complete, with the permissions of the source. It is a SQLite store, also where the source
  /// is an atomic store. The source and the quarantine stay unchanged. Takes as long as copying the source.
  ///
  /// - Parameters:
  ///   - quarantine: The store that a run put beside its destination, or a copy of it with its folder of files.
  ///   - source: The store that the run has read.
  ///   - copy: A place where nothing is.
  /// - Throws: `GodwitError`: `.dataWrong` (65) for edits that cannot be applied, and for a quarantine of another source;
  ///   `.missingInput` (66); `.cannotCreate` (73) when something is at the place; `.stopped` (75) when the source or the
  ///   quarantine changes meanwhile.
  package static func apply(_ quarantine: URL, to source: URL, writing copy: URL) throws -> QuarantineEdits {
    try EditedSource(quarantine: quarantine.path, source: source.path, copy: copy.path).write()
  }
}
