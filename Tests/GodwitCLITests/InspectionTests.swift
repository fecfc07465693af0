import Foundation
import TestSupport
import Testing

@testable import GodwitCLI

struct InspectionTests {
  @Test func `a spill file is recognised by the skippable frame before its first frame`() throws {
    let project = ProjectFixture()
    let path = try project.path("pairs.lz4")
    for (first, isOurs) in [(UInt8(0x50), true), (0x51, true), (0x40, false)] {
      try Data([first, 0x2A, 0x4D, 0x18] + [UInt8](repeating: 0, count: 64)).write(to: URL(filePath: path))
      let told = project.godwit("inspect", path)
      #expect(told.status == 65)
      #expect(told.diagnostics.contains("cannot read spill file") == isOurs, "\(first): \(told.diagnostics)")
    }
  }
}
