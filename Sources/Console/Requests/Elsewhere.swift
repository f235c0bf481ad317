import HTTPServing

/// How to ask for the same without the console: statements for psql, commands for a shell.
package struct Elsewhere: Sendable {
    let statements: [PsqlText]
    let commands: [CommandText]

    package init(psql statements: [PsqlText] = [], commands: [CommandText] = []) {
        (self.statements, self.commands) = (statements, commands)
    }

    package static let nowhere = Elsewhere()
}

/// A statement to paste into psql. What is interpolated is quoted, since it may have been written by an attacker.
package struct PsqlText: ExpressibleByStringInterpolation, Sendable {
    let text: String

    package init(stringLiteral value: String) {
        text = value
    }

    package init(stringInterpolation: Interpolation) {
        text = stringInterpolation.text
    }

    package struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        package mutating func appendInterpolation(_ number: Int64) {
            text += "\(number)"
        }

        package mutating func appendInterpolation(_ value: String?) {
            text += value.map { "'\(Pasted.quoted($0, by: "''"))'" } ?? "NULL"
        }

        /// A value, or an expression in its place.
        package mutating func appendInterpolation(_ value: String?, else expression: StaticString) {
            if value == nil { text += "\(expression)" } else { appendInterpolation(value) }
        }
    }
}

/// A command to paste into a shell. What is interpolated is one word, whatever it contains.
package struct CommandText: ExpressibleByStringInterpolation, Sendable {
    let text: String

    package init(stringLiteral value: String) {
        text = value
    }

    package init(stringInterpolation: Interpolation) {
        text = stringInterpolation.text
    }

    package struct Interpolation: StringInterpolationProtocol, Sendable {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        package mutating func appendInterpolation(_ number: Int64) {
            text += "\(number)"
        }

        package mutating func appendInterpolation(_ value: String) {
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
