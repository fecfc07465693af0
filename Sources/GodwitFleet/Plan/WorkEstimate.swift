/// How long a store takes on one thread, as far as its size tells.
///
/// The figures are of a machine with two cores and a local disk. They need not be right for another: what counts is that
/// the shards are alike, and that is the ratio of the two.
package enum WorkEstimate {
  /// What a store takes however small it is: reading its metadata, the work folder, the syncs and renames of its
  /// delivery.
  package static let secondsOfStore = 0.03
  /// Bytes of the source in a second: stores of 2,000 to 1,000,000 rows, all steps and the receipt included.
  package static let bytesInSecond = 8_000_000.0

  /// The seconds of a store of so many bytes.
  package static func seconds(bytes: Int64) -> Double { secondsOfStore + Double(max(0, bytes)) / bytesInSecond }

  /// The seconds of a process that works off stores, so many at a time.
  ///
  /// - Parameters:
  ///   - sum: Of the seconds of all stores.
  ///   - longest: Those of the longest store, which no second thread helps.
  package static func seconds(sum: Double, longest: Double, jobs: Int) -> Double {
    max(sum / Double(max(1, jobs)), longest)
  }
}
