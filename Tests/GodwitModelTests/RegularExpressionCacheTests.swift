import GodwitModel
import Testing

@Suite struct RegularExpressionCacheTests {
  @Test func `a pattern is compiled once for any number of rows`() {
    let cache = RegularExpressionCache()
    for _ in 0..<1000 { #expect(cache.compiled("[a-z]+", ignoresCase: false) != nil) }
    #expect(cache.compilations == 1)
    #expect(cache.compiled("[a-z]+", ignoresCase: true) != nil)
    #expect(cache.compilations == 2)
  }

  @Test func `an invalid pattern is cached as invalid`() {
    let cache = RegularExpressionCache()
    for _ in 0..<10 { #expect(cache.compiled("(", ignoresCase: false) == nil) }
    #expect(cache.compilations == 1)
  }

  @Test func `the cache drops patterns when there are too many`() {
    let cache = RegularExpressionCache()
    for number in 0..<1000 { _ = cache.compiled("a{\(number % 200)}", ignoresCase: false) }
    #expect(cache.count <= RegularExpressionCache.limit)
  }
}
