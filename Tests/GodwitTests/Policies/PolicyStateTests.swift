import Foundation
import Godwit
import TestSupport
import Testing

@testable import GodwitEngine

/// The content of files that a run of another version may read.
struct PolicyStateTests {
  /// The value that a text means, encoded again.
  private func recoded<T: Codable>(_ type: T.Type, _ text: String) throws -> (value: T, text: String) {
    let value = try JSONDecoder().decode(type, from: Data(text.utf8))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return (value, String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  @Test func `the ledger's entry of the policies keeps its keys`() throws {
    let text =
      #"{"dense":{"1":2},"direct":[3],"foreign":[4],"keysAtBegin":{"0":{"A":5}},"left":{"6":{"source":7,"turn":8}},"nextKeys":{"A":9},"plain":[1],"plainThrough":{"2":10},"several":[11],"turn":12,"userInfo":[98]}"#
    let (state, again) = try recoded(PolicyState.self, text)
    #expect(again == text)
    #expect(state.sequence == 12 && state.leftToMapping[6] == .init(source: 7, sequence: 8))
    #expect(state.inlineLinks == [3] && state.computedAssociations == [1] && state.computedThrough == [2: 10])
    #expect(state.hasManySources(11) && !state.hasManySources(4))
    #expect(state.hasForeignSources(4) && !state.hasForeignSources(11))
  }

}
