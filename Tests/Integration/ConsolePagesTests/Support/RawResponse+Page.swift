import HTTPServingTesting

extension RawResponse {
    /// The texts of the cells of a table, without markup, by its caption; nil where there is no such table.
    func table(_ caption: String) -> [[String]]? {
        guard let start = body.firstRange(of: "<caption>\(caption)"), let end = body[start.upperBound...].firstRange(of: "</table>") else {
            return nil
        }
        let rows = body[start.upperBound..<end.lowerBound].components(between: "<tr>", and: "</tr>").dropFirst()
        return rows.map { row in row.components(between: "<td", and: "</td>").map { Self.text("<td" + $0) } }
    }

    /// The address of the next page of the list; nil on the last one.
    var older: String? {
        body.firstMatch(of: /<a href="([^"]*)" data-key="n">/).map { String($0.1).replacing("&amp;", with: "&") }
    }

    /// All text of the page, without markup.
    var text: String { Self.text(body) }

    private static func text(_ markup: String) -> String {
        var isTag = false
        var text = ""
        for character in markup {
            switch character {
            case "<": isTag = true
            case ">" where isTag: isTag = false
            case _ where !isTag: text.append(character)
            default: break
            }
        }
        for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")] {
            text = text.replacing(entity, with: character)
        }
        return text
    }
}

extension Substring {
    fileprivate func components(between start: String, and end: String) -> [String] {
        var rest = self
        var found: [String] = []
        while let from = rest.firstRange(of: start), let upto = rest[from.upperBound...].firstRange(of: end) {
            found.append(String(rest[from.upperBound..<upto.lowerBound]))
            rest = rest[upto.upperBound...]
        }
        return found
    }
}

extension String {
    fileprivate func components(between start: String, and end: String) -> [String] {
        Substring(self).components(between: start, and: end)
    }
}
