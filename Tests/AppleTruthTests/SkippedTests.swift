#if !canImport(CoreData)
  import Testing

  @Suite struct `Core Data itself` {
    @Test(.disabled("there is no Core Data here: run `swift test --filter AppleTruthTests` on a Mac"))
    func `compares Godwit with Core Data`() {}
  }
#endif
