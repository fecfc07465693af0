/// Texts and digests of a model, made once and shared by all its copies. A run over many stores needs them again and
/// again, and a model never changes.
package final class ModelTexts: Sendable {
  private let madeContents = MadeOnce<String>()
  private let madeDigest = MadeOnce<String>()
  private let madeReceived = MadeOnce<ManagedObjectModel>()

  /// The model as the `contents` file of a `.xcdatamodel`.
  package func contents(_ make: () -> String) -> String { madeContents.value(make) }

  /// The digest of that text.
  package func digest(_ make: () -> String) -> String { madeDigest.value(make) }

  /// The model as one that reads it from that text knows it.
  package func received(_ make: () throws -> ManagedObjectModel) rethrows -> ManagedObjectModel {
    try madeReceived.value(make)
  }
}
