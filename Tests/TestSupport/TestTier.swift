import Foundation

/// The two tiers of the tests: what runs on every change, and the long tier, which runs before a release.
///
/// `GODWIT_TESTS=long` asks for the long tier; `GODWIT_FAULTS=all` means the same.
package enum TestTier {
  package static let isLong: Bool = {
    let environment = ProcessInfo.processInfo.environment
    return environment["GODWIT_TESTS"] == "long" || environment["GODWIT_FAULTS"] == "all"
  }()

  /// A number that is smaller on every change than in the long tier.
  package static func choose<Value>(_ short: Value, long: Value) -> Value { isLong ? long : short }

  /// Each `step`-th of the items on every change, all of them in the long tier.
  ///
  /// `GODWIT_ROUND` shifts the sample, so that the rounds of a campaign take others.
  package static func sample<Items: Collection>(_ items: Items, each step: Int) -> [Items.Element] {
    if isLong { return Array(items) }
    return items.enumerated().filter { $0.offset % step == testRound % step }.map(\.element)
  }
}
