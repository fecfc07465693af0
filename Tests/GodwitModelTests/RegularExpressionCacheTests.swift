import Testing

@testable import GodwitModel

@Suite struct RegularExpressionCacheTests {
  @Test func `a pattern is compiled once however many rows it is tried on`() {
    let cache = RegularExpressionCache()
    for _ in 0..<1000 { #expect(cache.compiled("[a-z]+", ignoresCase: false) != nil) }
    #expect(cache.compilations == 1)
    #expect(cache.compiled("[a-z]+", ignoresCase: true) != nil)
    #expect(cache.compilations == 2)
  }

  @Test func `a text that is no pattern is remembered as such`() {
    let cache = RegularExpressionCache()
    for _ in 0..<10 { #expect(cache.compiled("(", ignoresCase: false) == nil) }
    #expect(cache.compilations == 1)
  }

  @Test func `a flood of patterns is forgotten again`() {
    let cache = RegularExpressionCache()
    for number in 0..<1000 { _ = cache.compiled("a{\(number % 200)}", ignoresCase: false) }
    #expect(cache.count <= RegularExpressionCache.limit)
  }
}
