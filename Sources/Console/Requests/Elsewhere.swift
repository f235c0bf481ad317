import HTTPServing

/// How to ask for the same without the console: statements for psql, commands for a shell.
struct Elsewhere: Sendable {
    let statements: [PsqlText]
    let commands: [CommandText]

    init(psql statements: [PsqlText] = [], commands: [CommandText] = []) {
        (self.statements, self.commands) = (statements, commands)
    }

    static let nowhere = Elsewhere()
}

/// A statement to paste into psql. What is interpolated is quoted, since it may have been written by an attacker.
struct PsqlText: ExpressibleByStringInterpolation, Sendable {
    let text: String

    init(stringLiteral value: String) {
        text = value
    }

    init(stringInterpolation: Interpolation) {
        text = stringInterpolation.text
    }

    struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        mutating func appendInterpolation(_ number: Int64) {
            text += "\(number)"
        }

        mutating func appendInterpolation(_ value: String?) {
            text += value.map { "'\(Pasted.quoted($0, by: "''"))'" } ?? "NULL"
        }

        /// A value, or an expression in its place.
        mutating func appendInterpolation(_ value: String?, else expression: StaticString) {
            if value == nil { text += "\(expression)" } else { appendInterpolation(value) }
        }
    }
}

/// A command to paste into a shell. What is interpolated is one word, whatever it contains.
struct CommandText: ExpressibleByStringInterpolation, Sendable {
    let text: String

    init(stringLiteral value: String) {
        text = value
    }

    init(stringInterpolation: Interpolation) {
        text = stringInterpolation.text
    }

    struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        mutating func appendInterpolation(_ number: Int64) {
            text += "\(number)"
        }

        mutating func appendInterpolation(_ value: String) {
            let value = Pasted.oneLine(value)
            let isPlain =
                !value.isEmpty && !value.hasPrefix("-") && value.utf8.allSatisfy { $0.isAlphanumeric || "-._/:,".utf8.contains($0) }
            text += isPlain ? value : "'\(Pasted.quoted(value, by: #"'\''"#))'"
        }
    }
}

private enum Pasted {
    /// Control characters would press Enter in a terminal, and invisible ones hide what is pasted.
    static func oneLine(_ text: String) -> String {
        let hidden: Set<Unicode.GeneralCategory> = [.control, .format, .lineSeparator, .paragraphSeparator]
        return String(String.UnicodeScalarView(text.unicodeScalars.map { hidden.contains($0.properties.generalCategory) ? " " : $0 }))
    }

    /// One line whose quotation marks are replaced. By scalars: a mark that an accent follows is another Character.
    static func quoted(_ text: String, by replacement: String) -> String {
        oneLine(text).unicodeScalars.reduce(into: "") { quoted, scalar in
            if scalar == "'" { quoted += replacement } else { quoted.unicodeScalars.append(scalar) }
        }
    }
}
