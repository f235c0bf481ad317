/// Reads one line of the text format from left to right.
struct LineScanner {
    private var left: Substring.UnicodeScalarView

    init(_ line: String) {
        left = Substring(line).unicodeScalars
    }

    mutating func skip(_ text: String) throws {
        for scalar in text.unicodeScalars {
            guard left.popFirst() == scalar else { throw MalformedLine("expected \(text)") }
        }
    }

    /// The name of a metric or a label: letters, digits and underscores.
    mutating func name() throws -> String {
        var name = ""
        while let scalar = left.first, scalar.properties.isAlphabetic && scalar.isASCII || "0"..."9" ~= scalar || scalar == "_" {
            name.unicodeScalars.append(scalar)
            left.removeFirst()
        }
        guard let first = name.unicodeScalars.first, !("0"..."9" ~= first) else { throw MalformedLine("no name") }
        return name
    }

    /// The labels in braces, or none.
    mutating func labels() throws -> [String: String] {
        guard left.first == "{" else { return [:] }
        var labels: [String: String] = [:]
        repeat {
            left.removeFirst()
            let name = try name()
            try skip("=\"")
            guard labels.updateValue(try quoted(), forKey: name) == nil else { throw MalformedLine("the label \(name) stands there twice") }
        } while left.first == ","
        try skip("}")
        return labels
    }

    /// The rest of the line; a help text may hold escapes.
    mutating func rest() throws -> String {
        var text = ""
        while let scalar = left.popFirst() {
            text.unicodeScalars.append(scalar == "\\" ? try escape(["\\": "\\", "n": "\n"]) : scalar)
        }
        return text
    }

    /// Up to the closing quotation mark.
    private mutating func quoted() throws -> String {
        var text = ""
        while let scalar = left.popFirst() {
            if scalar == "\"" { return text }
            text.unicodeScalars.append(scalar == "\\" ? try escape(["\\": "\\", "n": "\n", "\"": "\""]) : scalar)
        }
        throw MalformedLine("a label's value does not end")
    }

    private mutating func escape(_ known: [Unicode.Scalar: Unicode.Scalar]) throws -> Unicode.Scalar {
        guard let letter = left.popFirst(), let scalar = known[letter] else { throw MalformedLine("an unknown escape") }
        return scalar
    }

    static func number(_ text: String) throws -> Double {
        switch text {
        case "NaN": return .nan
        case "+Inf": return .infinity
        case "-Inf": return -.infinity
        default:
            guard let number = Double(text), number.isFinite else { throw MalformedLine("\(text) is no number") }
            return number
        }
    }
}
