import StatementGeneration
import Testing

extension StatementText {
    /// The signature of the Swift function.
    func signature() throws -> String {
        let lines = try StatementSource.source(of: [self]).split(separator: "\n")
        let line = try #require(lines.first { $0.contains("static func ") }).filter { $0 != "`" }
        return try String(#require(line.firstMatch(of: /static func (.*) -> Statement \{/)).1)
    }
}
