import GodwitJob
import GodwitModel

/// The state of a step's policies between the ledger and the hooks.
final class PolicyMemory {
  private let ledger: Ledger
  /// The state before the first chunk.
  private let initial: PolicyState
  @exclusivity(unchecked) var state: PolicyState
  private(set) var userInfo: [String: PropertyListValue]
  private var isUserInfoChanged = false

  static let limitUserInfo = ByteCount.mebibytes(8)

  init(ledger: Ledger, nextKeys: [String: Int64], userInfo: [String: PropertyListValue]) throws {
    self.ledger = ledger
    initial = PolicyState(nextKeys: nextKeys, userInfo: PropertyListValue.dictionary(userInfo).binaryPropertyList)
    state = try ledger.policyState() ?? initial
    guard let known = Self.userInfo(of: state) else {
      throw GodwitError(
        .dataWrong, "cannot read the ledger: the user info of the policies is unreadable",
        remedy: "`godwit discard` the job and run again")
    }
    self.userInfo = known
  }

  private static func userInfo(of state: PolicyState) -> [String: PropertyListValue]? {
    try? PropertyListValue(binary: state.userInfo, maximumValues: 4_000_000).dictionary?.named
  }

  func setUserInfo(_ value: [String: PropertyListValue]) {
    userInfo = value
    isUserInfoChanged = true
  }

  /// Encodes the user info, where it was set since the last chunk.
  func keepUserInfo() throws {
    guard isUserInfoChanged else { return }
    state.userInfo = PropertyListValue.dictionary(userInfo).binaryPropertyList
    isUserInfoChanged = false
    guard state.userInfo.count <= Self.limitUserInfo.bytes else {
      throw GodwitError(
        .dataWrong,
        "the user info of the policies takes \(ByteCount(bytes: Int64(state.userInfo.count))): expected \(Self.limitUserInfo) at most",
        remedy: "look objects up with destinationInstance(ofEntityNamed:where:equals:) instead of keeping them")
    }
  }

  /// Writes the state. Call inside the chunk's transaction.
  func write() throws { try ledger.setPolicyState(state) }

  /// Restores the state after the last committed chunk.
  func rollBack() throws {
    isUserInfoChanged = false
    state = try ledger.policyState() ?? initial
    userInfo = Self.userInfo(of: state) ?? userInfo
  }
}
