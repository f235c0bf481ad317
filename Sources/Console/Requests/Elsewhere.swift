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
            text += value.map { "'\(Pasted.oneLine($0).replacing("'", with: "''"))'" } ?? "NULL"
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
            let isPlain = !value.isEmpty && !value.hasPrefix("-") && value.utf8.allSatisfy(Self.isPlain)
            text += isPlain ? value : "'\(value.replacing("'", with: #"'\''"#))'"
        }

        private static func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: ","):
                true
            default: false
            }
        }
    }
}

private enum Pasted {
    /// Control characters would press Enter in a terminal.
    static func oneLine(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}
