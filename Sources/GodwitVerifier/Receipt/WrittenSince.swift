import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// The changes to a store since this job delivered it.
///
/// 1. The receipt has stamps of the file and of the external files at delivery. If they are equal, nobody has written.
/// 2. Otherwise every object and link is compared with the receipt, as `verify --receipt` does. Rows and values that no
///    model names count as differences.
/// 3. Other changes do not count: the log, counters, metadata that Core Data itself writes into a store that it opens,
///    and a quarantine that was moved away.
package struct WrittenSince {
  /// The differences, a line each; empty without any.
  package let differences: [String]
  /// The files as they were compared; nil where a log may change them without a change of content.
  package let stamp: StoreFiles.Stamp?
  /// The external files as they were compared.
  private let fileStamp: String?
  /// Whether an earlier run compared, which has noted the stamp of the store alone.
  private var isOfEarlierRun = false

  private static let lineLimit = 5

  /// The result of an earlier run: no differences in that state of the files.
  package init(nothingAt stamp: StoreFiles.Stamp) {
    (differences, self.stamp, fileStamp, isOfEarlierRun) = ([], stamp, nil, true)
  }

  /// - Parameters:
  ///   - path: The store.
  ///   - known: The result of an earlier comparison: files that are unchanged since are not read again.
  /// - Throws: `.stopped` (75) when the run is to stop, or another process writes to the store.
  package init(
    to path: String, receipt: Receipt, at receiptPath: String, known: WrittenSince? = nil, control: MigrationControl
  ) throws {
    let files = try StoreFiles(path: path)
    let stamp = try files.stamp()
    self.stamp = stamp.wal == nil && stamp.journal == nil ? stamp : nil
    fileStamp = try Receipt.fileStamp(ofStoreAt: path)
    if let known, known.stamp == stamp, known.fileStamp == fileStamp || known.isOfEarlierRun {
      differences = known.differences
      return
    }
    let hasStamp = try receipt.destination.stamp.map { try $0 == Receipt.deliveryStamp(ofStoreAt: path) } ?? false
    guard !hasStamp || receipt.destination.fileStamp != fileStamp else {
      differences = []
      return
    }
    do {
      var check = ReceiptCheck(receipt: URL(filePath: receiptPath), destination: URL(filePath: path))
      check.includesQuarantine = false
      check.reportsUnmodelledContent = true
      differences = try check.run(control: control).findingLines(Self.lineLimit)
    } catch let error as GodwitError where error.code == .dataWrong {
      differences = [error.line]
    } catch {
      try control.checkpoint()
      guard let known = error as? GodwitError, known.stopReason == .sourceChanged else { throw error }
      throw StoreLock.busy("compare '\(path)' with its receipt")
    }
  }
}
