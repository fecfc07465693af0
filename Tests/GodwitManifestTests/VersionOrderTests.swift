import GodwitJob
import Testing

@testable import GodwitManifest

/// The order in which versions were made, as `godwit init` guesses it.
struct VersionOrderTests {
  private func order(
    _ names: [String], current: String? = nil, served: [(String, String)] = []
  ) -> [String] {
    VersionOrder.order(names, current: current, served: served.map { (source: $0.0, destination: $0.1) })
  }

  @Test func `names that sort stay as they are`() {
    let names = ["Model", "Model 2", "Model 9", "Model 10", "Model 10.1"]
    #expect(order(names.reversed(), current: "Model 10.1") == names)
    #expect(order(["App", "App v2", "App-3"], current: "App-3") == VersionOrder.natural(["App", "App v2", "App-3"]))
  }

  @Test func `the family of the current version is the newest`() {
    let names = ["ArtsyFolio v1.5", "ArtsyFolio v2.7.0", "ArtsyPartner", "ArtsyPartner 2", "ArtsyPartner 5"]
    #expect(
      order(names, current: "ArtsyFolio v2.7.0")
        == ["ArtsyPartner", "ArtsyPartner 2", "ArtsyPartner 5", "ArtsyFolio v1.5", "ArtsyFolio v2.7.0"])
    #expect(order(["1.8", "1.9", "1.10", "Kiwix"], current: "Kiwix") == ["1.8", "1.9", "1.10", "Kiwix"])
  }

  @Test func `a mapping model leads from the older family to the newer one`() {
    let names = ["Multiasset", "Multiasset2", "Multiasset3", "User"]
    #expect(order(names) == names)
    #expect(order(names, served: [("User", "Multiasset")]) == ["User", "Multiasset", "Multiasset2", "Multiasset3"])
    // Both ways, or away from what is current, it says nothing.
    #expect(order(names, served: [("User", "Multiasset"), ("Multiasset", "User")]) == names)
    #expect(order(names, current: "User", served: [("User", "Multiasset")]) == names)
  }

  @Test func `within a family a mapping model wins over the number`() {
    #expect(order(["V1", "V2", "V3"], served: [("V3", "V1")]) == ["V2", "V3", "V1"])
    #expect(order(["V1", "V2", "V3"], current: "V1") == ["V2", "V3", "V1"])
  }

  @Test func `a circle of mapping models ends`() {
    #expect(Set(order(["A", "B", "C"], served: [("A", "B"), ("B", "C"), ("C", "A")])) == ["A", "B", "C"])
  }

  @Test(arguments: [
    ("Model 2", "model"), ("Model", "model"), ("App v2.1", "app"), ("SampleModel3_v2", "samplemodel"), ("1.9", ""),
    ("Archiv2", "archiv"), ("v3", ""), ("Über 3", "über"),
  ]) func `a family is the name without its count`(name: String, family: String) {
    #expect(VersionName.family(of: name) == family)
  }
}
