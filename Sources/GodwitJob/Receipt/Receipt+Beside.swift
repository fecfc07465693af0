import Foundation
package import GodwitModel
package import GodwitStore

extension Receipt {
  /// The model of a store, by the receipts beside it.
  package enum ModelBeside {
    /// There is no receipt, or the store is not the result of a job.
    case none
    case found(ManagedObjectModel, path: String)
    /// No receipt has the model. One sentence says why the first one has not.
    case useless(String)
  }

  /// The most receipts beside one store that are read.
  static let readAtMost = 16

  /// Looks for the model of a store in the receipts beside it.
  ///
  /// Receipts lie beside a store as a run writes them: `STORE.receipt.json`, and for jobs that append
  /// `STORE.DIGITS.receipt.json`. A receipt is believed only if its model has the store's version hashes. A store that
  /// another program has migrated since then has others.
  ///
  /// - Parameters:
  ///   - metadata: That of the store.
  ///   - name: The name of the model in messages; nil for the name that the receipt has.
  package static func model(
    besideStoreAt path: String, metadata: StoreMetadata, name: String? = nil
  ) -> ModelBeside {
    let jobs = metadata.applicationValues[StoreMetadata.Key.jobs]?.array ?? []
    guard !jobs.isEmpty else { return .none }
    var problem: String?
    for receipt in receipts(besideStoreAt: path).prefix(readAtMost) {
      do {
        if let model = try read(receipt).model(path: receipt, fitting: metadata, name: name) {
          return .found(model, path: receipt)
        }
        problem = problem ?? "the model in the receipt '\(receipt)' is of another version"
      } catch {
        let cause = (error as? GodwitError)?.line ?? error.localizedDescription
        problem = problem ?? "the receipt '\(receipt)' cannot be used: \(cause)"
      }
    }
    return problem.map(ModelBeside.useless) ?? .none
  }

  /// The paths of files that have the names of receipts of a store, the likeliest first.
  private static func receipts(besideStoreAt given: String) -> [String] {
    var found: [String] = []
    for path in [given, StoreFiles.resolvingLink(given)] where !found.contains(path + suffix) {
      let folder = path.parentPath
      let prefix = URL(filePath: path).lastPathComponent + "."
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
      let marked = names.filter { name in
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
        let mark = name.dropFirst(prefix.count).dropLast(suffix.count)
        return !mark.isEmpty && mark.allSatisfy { $0.isHexDigit || $0 == "-" }
      }
      let place = folder.isEmpty ? "" : folder == "/" ? "/" : folder + "/"
      found += [path + suffix] + marked.sorted().map { place + $0 }
    }
    return found.filter { StoreFiles.isRegularFile($0) }
  }
}
