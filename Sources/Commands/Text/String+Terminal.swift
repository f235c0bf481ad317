extension String {
    /// The text with every character escaped, as JSON would, that could move a terminal's cursor or turn the direction of reading: what is
    /// shown may have been written by an attacker. Newlines stay.
    ///
    /// JSON text stays the same JSON text, for such characters can only be inside its strings.
    var shownSafely: String {
        var safe = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
            if isControl && scalar != "\n" {
                for unit in String(scalar).utf16 { safe.append(contentsOf: Self.escape(of: unit).unicodeScalars) }
            } else {
                safe.append(scalar)
            }
        }
        return String(safe)
    }

    private static func escape(of unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
