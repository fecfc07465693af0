import GodwitCLI

@main struct Main {
  static func main() { GodwitCommand.main() }
}
