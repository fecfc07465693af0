import Foundation
package import GodwitModel

/// The folder of one step's store under construction and its spill files.
///
/// A job of one step keeps them in the work folder itself, one of several in `step-1`, `step-2`, … inside it.
package struct StepFolder: Sendable, Hashable {
  package let path: String

  package init(path: String) { self.path = path }

  /// The folder of one of several steps.
  package init(of step: StepID, in workFolder: String) { path = "\(workFolder)/step-\(step.count)" }

  package var storePath: String { path + "/store.sqlite" }
  package func spillPath(mapping: MappingID) -> String { path + "/association-\(mapping).lz4" }
  /// The external binary data of the store, where the store itself would look for them.
  package var support: SupportFolder { SupportFolder(ofStoreAt: storePath) }
}
