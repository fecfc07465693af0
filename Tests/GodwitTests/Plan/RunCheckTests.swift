import Foundation
import GodwitJob
import TestSupport
import Testing

@testable import Godwit

/// The checks that come before the work of a run.
struct RunCheckTests {
  @Test func `the page lists the checks in the order in which a run makes them`() throws {
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/LifeOfARun.md")
    let section = try #require(page.components(separatedBy: "## Checks\n").last?.components(separatedBy: "\n## ").first)
    let rows = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map(String.init)
    let checks = RunCheck.all.map { check in
      "| \(check.claim)\(check.isFoundByWriting ? " *" : "") | \(check.scope.rawValue) | \(check.code.map { "`\($0.rawValue)`" } ?? "no plan") |"
    }
    #expect(rows == checks)
    #expect(Set(RunCheck.all.map(\.claim)).count == RunCheck.all.count)
  }
}
