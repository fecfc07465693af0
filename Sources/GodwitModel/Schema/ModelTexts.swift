import Synchronization

/// What is made of a model alone and asked for again and again, as for each store of a fleet: made once, and shared by
/// all copies, since what it is made of never changes.
package final class ModelTexts: Sendable {
  private struct Known {
    var contents: String?
    var digest: String?
    var received: ManagedObjectModel?
  }

  private let known = Mutex(Known())

  /// The model as the `contents` file of a `.xcdatamodel`.
  package func contents(_ make: () -> String) -> String {
    if let contents = known.withLock({ $0.contents }) { return contents }
    let made = make()
    known.withLock { $0.contents = made }
    return made
  }

  /// The digest of that text.
  package func digest(_ make: () -> String) -> String {
    if let digest = known.withLock({ $0.digest }) { return digest }
    let made = make()
    known.withLock { $0.digest = made }
    return made
  }

  /// The model as one that reads it from that text knows it.
  package func received(_ make: () throws -> ManagedObjectModel) rethrows -> ManagedObjectModel {
    if let model = known.withLock({ $0.received }) { return model }
    let made = try make()
    known.withLock { $0.received = made }
    return made
  }
}
