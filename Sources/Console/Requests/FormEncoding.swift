import HTTPServing

/// Names and values as forms and queries have them (URL standard, application/x-www-form-urlencoded).
enum FormEncoding {
    /// Nil for an incomplete escape, for bytes that are not UTF-8, and for U+0000.
    static func decode(_ text: String) -> [(name: String, value: String)]? {
        var fields: [(name: String, value: String)] = []
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = component(parts[0]), let value = component(parts.count == 2 ? parts[1] : "") else { return nil }
            fields.append((name, value))
        }
        return fields
    }

    private static func component(_ text: Substring) -> String? {
        guard let decoded = PercentEncoding.decode(Substring(text.replacing("+", with: " "))), !decoded.contains("\0") else { return nil }
        return decoded
    }
}
