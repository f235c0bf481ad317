/// Swift source with a function for each statement, whose arguments are the binds.
package enum StatementSource {
    /// - Throws: ``StatementError`` for statements of one name.
    package static func source(of statements: [StatementText]) throws(StatementError) -> String {
        for (name, same) in Dictionary(grouping: statements, by: \.swiftName) where same.count > 1 {
            throw StatementError("\(same.map(\.path).joined(separator: " and ")) both make Statement.\(name)", line: 1)
        }
        return """
            package import FoundationEssentials
            package import Postgres

            extension Statement {
            \(statements.map(\.function).joined(separator: "\n"))
                /// The texts of all statements, with the names of their binds and the types that are declared for them.
                package static let texts: [(name: String, path: String, sql: String, binds: KeyValuePairs<String, String>)] = [
            \(statements.map(\.entry).joined())    ]
            }

            private enum Text {
            \(statements.map(\.text).joined())}

            """
    }
}

extension StatementText {
    fileprivate var swiftName: String { Identifier.camelCase(name) }

    fileprivate var function: String {
        let labels = parameters.map { Identifier.camelCase($0.name) }
        let arguments = zip(labels, parameters).map { label, parameter in
            "`\(label)`: \(parameter.type.swift(isNullable: parameter.isNullable))\(parameter.initial.map { " = \($0)" } ?? "")"
        }
        let appends = zip(labels, parameters).map { "        binds.append(`\($0)`, named: \"\($1.name)\")\n" }
        let declaration = parameters.isEmpty ? "let" : "var"
        return """
                /// Sends `\(path)`.
                package static func `\(swiftName)`(\(arguments.joined(separator: ", "))) -> Statement {
                    \(declaration) binds = Binds()
            \(appends.joined())        return Statement(name: "\(name)", sql: Text.`\(swiftName)`, binds: binds)
                }

            """
    }

    fileprivate var entry: String {
        let binds = parameters.map { "\"\($0.name)\": \"\($0.type.sent)\"" }.joined(separator: ", ")
        return "        (\"\(name)\", \"\(path)\", Text.`\(swiftName)`, [\(binds.isEmpty ? ":" : binds)]),\n"
    }

    /// A raw literal: the files are checked to contain neither its end nor an escape of it.
    fileprivate var text: String {
        "    static var `\(swiftName)`: String { ###\"\"\"\n\(sql)\n\"\"\"### }\n"
    }
}

/// Names of SQL as names of Swift.
enum Identifier {
    private static let acronyms = [
        "api": "API", "id": "ID", "ids": "IDs", "ms": "MS", "sha256": "SHA256", "url": "URL", "uuid": "UUID", "uuids": "UUIDs",
    ]

    /// `read_api_key` as `readAPIKey`.
    static func camelCase(_ name: String) -> String {
        let words = name.split(separator: "_")
        let others = words.dropFirst().map { acronyms[String($0)] ?? $0.prefix(1).uppercased() + $0.dropFirst() }
        return (words.first ?? "") + others.joined()
    }
}
