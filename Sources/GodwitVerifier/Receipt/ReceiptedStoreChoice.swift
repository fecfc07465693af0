import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Which store a receipt is compared with, and why that one.
///
/// A receipt names its store. A copy of both may have another name, and then the name of the receipt's file identifies
/// the store. The original may lie beside the copy: it must not be read instead, or a changed copy would pass.
struct ReceiptedStoreChoice {
  /// The store.
  let path: String
  /// Why it is this one, after its name.
  let reason: String

  /// - Parameters:
  ///   - receipt: The receipt.
  ///   - receiptPath: Where it was read.
  ///   - given: The store that the caller named, which is used whatever other stores exist.
  /// - Throws: `.missingInput` (66) without a store.
  init(_ receipt: Receipt, at receiptPath: String, given: String?) throws {
    if let given {
      (path, reason) = (given, "it was named as the destination")
      return
    }
    let folder = receiptPath.parentPath
    func place(_ name: String) -> String {
      folder.isEmpty ? name : folder == "/" ? "/" + name : "\(folder)/\(name)"
    }
    let named = receipt.destination.file
    let byReceipt = try named.contains("/") || !WorkFolder.exists(place(named)) ? nil : place(named)
    let like = Self.storeName(ofReceiptAt: receiptPath)
    if let like, like != named, try Self.isFile(place(like)) {
      guard let byReceipt, try Self.isOfAnotherJob(place(like), receipt) else {
        (path, reason) = (place(like), "it is named like the receipt file")
        return
      }
      // An archived receipt, or one that the manifest put there, may lie beside a store that it says nothing of.
      (path, reason) = (byReceipt, "the receipt names it, and '\(place(like))' is not a store of the receipt's job")
      return
    }
    guard let byReceipt else {
      let others = like.map { $0 == named ? "" : ", and neither is '\($0)'" } ?? ""
      throw GodwitError(
        .missingInput, "cannot verify '\(named)': it is not in the folder of its receipt\(others)",
        remedy: "name the store with --destination STORE")
    }
    path = byReceipt
    reason =
      like == named
      ? "it is named like the receipt file"
      : "the receipt names it" + (like.map { ", and there is no '\(place($0))'" } ?? "")
  }

  /// The name of the store beside which a run would have written a receipt of this name; nil for other names.
  private static func storeName(ofReceiptAt path: String) -> String? {
    let name = URL(filePath: path).lastPathComponent
    guard name.hasSuffix(Receipt.suffix) else { return nil }
    let store = String(name.dropLast(Receipt.suffix.count))
    return store.isEmpty || store == "." || store == ".." ? nil : store
  }

  private static func isFile(_ path: String) throws -> Bool {
    try WorkFolder.exists(path) && FileStatus(following: path)?.isFolder == false
  }

  /// Whether a file is a whole store that does not name the receipt's job. A damaged file does not count, because
  /// it may be the copy that is in question.
  private static func isOfAnotherJob(_ path: String, _ receipt: Receipt) throws -> Bool {
    guard let metadata = try StoreMetadata.ifStore(at: path) else { return false }
    return !metadata.jobs.starts(with: receipt.destination.jobs)
  }
}
