/// A ledger row as text: `what environment key | name=value | …`, without null values.
package enum LedgerLine {
    package static func text(_ what: String, _ environment: String, _ key: String, _ fields: [(String, String?)]) -> String {
        var line = "\(what) \(environment) \(key)"
        for (name, value) in fields {
            guard let value else { continue }
            line += " | "
            line += name
            line += "="
            line += value
        }
        return line
    }

    /// The part that identifies the row.
    package static func key(of line: String) -> Substring {
        line.firstRange(of: " | ").map { line[..<$0.lowerBound] } ?? line[...]
    }
}
