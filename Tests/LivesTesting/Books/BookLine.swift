/// A row of the books as text: `what environment key | name=value | …`, without what has no value.
package enum BookLine {
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

    /// What names the row.
    package static func key(of line: String) -> Substring {
        line.firstRange(of: " | ").map { line[..<$0.lowerBound] } ?? line[...]
    }
}
