/// What a program sends: SQL with the binds `$1`, `$2`, …, and what can be bound.
package struct StatementText: Equatable, Sendable {
    struct Parameter: Equatable {
        /// The bind's name in errors, and in camel case the label of its argument.
        let name: String
        let type: BindType
        let isNullable: Bool
        /// The value in Swift that an argument without one has.
        var initial: String?
    }

    /// The statement's name in logs and errors.
    package let name: String
    /// The file that it was made of, from the folder of the SQL.
    let path: String
    package let sql: String
    let parameters: [Parameter]

    /// The comment behind the type of a bind, or of a function's parameter, of which null is a value.
    static let nullMark = "/* null */"
}

extension StatementText {
    /// A file of `statements/`. Its binds are named and have a type (`:limit::integer`); PostgreSQL gets `$1::integer`.
    ///
    /// The names follow psql's rules for variables, so that `\set limit 10` and `\i claim.sql` run the same file. Binds are numbered by first
    /// appearance; a name that appears twice is one bind, whose type may be left out the second time. Comments before the first word of SQL
    /// are not sent. A file with ``ColumnLists`` is none for psql.
    package init(path: String, text: String, types: SchemaTypes) throws(StatementError) {
        var cursor = try TokenCursor(ColumnLists.writtenOut(text))
        var sql = ""
        var binds: [(name: String, parameter: Parameter?, missing: StatementError)] = []
        while true {
            let start = cursor
            guard let token = cursor.takeAny() else { break }
            if token.isSymbol("$") { throw start.error("a bind has a name, such as :limit") }
            if token.isSymbol(";"), cursor.next != nil { throw cursor.error("a file has one statement") }
            guard token.kind == .bind else {
                if !sql.isEmpty || token.isSignificant { sql += token.text }
                continue
            }
            let name = String(token.text.dropFirst())
            let index = binds.firstIndex { $0.name == name } ?? binds.count
            if index == binds.count { binds.append((name, nil, start.error(":\(name) has no type"))) }
            sql += "$\(index + 1)"
            guard cursor.takesCast() else { continue }
            let type = try SQLType(&cursor)
            guard let bindType = types.bindType(type) else { throw start.error(":\(name) has the type \(type), which cannot be bound") }
            sql += "::\(type)"
            let isNullable = try cursor.takes(comment: Self.nullMark) || binds[index].parameter?.isNullable == true
            guard binds[index].parameter.map({ $0.type == bindType }) ?? true else { throw start.error(":\(name) has two types") }
            binds[index].parameter = Parameter(name: name, type: bindType, isNullable: isNullable)
        }
        var parameters: [Parameter] = []
        for bind in binds {
            guard let parameter = bind.parameter else { throw bind.missing }
            parameters.append(parameter)
        }
        self.path = path
        self.sql = String(sql.reversed().drop(while: \.isWhitespace).reversed())
        self.parameters = parameters
        name = Self.stem(path)
    }

    private static func stem(_ path: String) -> String {
        String(path.split(separator: "/").last?.prefix { $0 != "." } ?? "")
    }
}

extension StatementText {
    /// The call of a function. A parameter whose default is an expression is not bound. A row that `CREATE TYPE` declares is bound as a JSON
    /// object.
    ///
    /// - Returns: nil for a function of which no program can bind the arguments: a trigger, or one that takes the row of a table.
    package init?(path: String, function: FunctionSignature, types: SchemaTypes) throws(StatementError) {
        guard function.result != .trigger else { return nil }
        var parameters: [Parameter] = []
        var arguments: [String] = []
        for parameter in function.parameters {
            let bind = "$\(parameters.count + 1)"
            if !parameter.type.isArray, types.isComposite(parameter.type.name) {
                arguments.append("\(parameter.name) => jsonb_populate_record(NULL::\(parameter.type), \(bind))")
                parameters.append(Parameter(parameter, BindType(element: .jsonb, isArray: false), initial: nil))
            } else if let type = types.bindType(parameter.type) {
                let initial = parameter.initial.map { $0.swift(for: type) }
                if initial == .some(nil) { continue }
                arguments.append("\(parameter.name) => \(bind)\(type.sent == type.name ? "" : "::\(type.name)")")
                parameters.append(Parameter(parameter, type, initial: initial ?? nil))
            } else if types.isRow(parameter.type.name) {
                return nil
            } else {
                throw StatementError("\(parameter.name) of \(function.name) has the type \(parameter.type), which cannot be bound", line: 1)
            }
        }
        let call = "\(function.name)(\(arguments.joined(separator: ", ")))"
        switch function.result {
        case .trigger: return nil
        case .value: sql = "SELECT \(call)"
        case .rows(let columns): sql = "SELECT \(columns.isEmpty ? "*" : columns.joined(separator: ", ")) FROM \(call)"
        }
        self.path = path
        self.parameters = parameters
        name = String((function.name.split(separator: ".").last ?? "").filter { $0 != "\"" })
    }
}

extension StatementText.Parameter {
    fileprivate init(_ parameter: FunctionSignature.Parameter, _ type: BindType, initial: String?) {
        let name = parameter.name.filter { $0 != "\"" }
        self.name = name.hasPrefix("p_") ? String(name.dropFirst(2)) : name
        self.type = type
        self.initial = initial
        isNullable = parameter.isNullable || parameter.initial?.isNull == true
    }
}

extension FunctionSignature.Default {
    var isNull: Bool {
        if case .constant(let text) = self { text.lowercased() == "null" } else { false }
    }

    /// The value in Swift, nil where it is not written as a constant of that type.
    fileprivate func swift(for type: BindType) -> String? {
        guard case .constant(let text) = self else { return nil }
        if isNull { return "nil" }
        guard !type.isArray else { return nil }
        return switch type.element.swift {
        case "Bool" where ["true", "false"].contains(text.lowercased()): text.lowercased()
        case "Int16", "Int32", "Int64", "Double": text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? text : nil
        case "String" where text.first == "'": String(reflecting: text.dropFirst().dropLast().replacing("''", with: "'"))
        default: nil
        }
    }
}

extension TokenCursor {
    /// Moves behind `::` if it is the next token of any kind.
    fileprivate mutating func takesCast() -> Bool {
        let before = self
        if takeAny()?.kind == .cast { return true }
        self = before
        return false
    }
}

/// The functions that `grants.sql` lets a role execute: those that programs may call, and those that views call for them.
package func grantedFunctions(_ text: String) throws(StatementError) -> Set<String> {
    var cursor = try TokenCursor(text)
    var names: Set<String> = []
    while cursor.next != nil {
        let isGrant =
            cursor.takes(word: "grant") && cursor.takes(word: "execute") && cursor.takes(word: "on") && cursor.takes(word: "function")
        if isGrant {
            repeat { names.insert(try cursor.qualifiedName()) } while cursor.takes(symbol: ",")
            try cursor.expect(word: "to")
        }
        while cursor.next != nil, !cursor.takes(symbol: ";") { try cursor.take() }
    }
    return names
}

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

/// The columns that a file of `statements/` names more than once, and where they are written out.
///
/// A list is `-- list NAME:` on a line, with columns and their types on the lines of comment after it. `{NAME}` stands for the columns, and
/// `{NAME: TEXT}` for TEXT of each, in which `%name` and `%type` are those of the column. Several names may stand before the colon. What is
/// written out has commas between, and as many lines as in the file, so that errors name the right one.
struct ColumnLists {
    private struct Column {
        let name: Substring
        let type: Substring
    }

    private var lists: [Substring: [Column]] = [:]

    /// - Throws: ``StatementError`` for a list that cannot be read, is there twice or is not used, and for an unknown one beside known ones.
    static func writtenOut(_ text: String) throws(StatementError) -> String {
        let lists = try ColumnLists(text)
        return lists.lists.isEmpty ? text : try lists.writeOut(text)
    }

    private init(_ text: String) throws(StatementError) {
        var name: Substring?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("-- list ") {
                let new = line.dropFirst("-- list ".count).dropLast()
                guard line.last == ":", !new.isEmpty, new.allSatisfy(Self.isOfName), lists.updateValue([], forKey: new) == nil else {
                    throw StatementError("a list is -- list NAME: with a name of its own", line: index + 1)
                }
                name = new
            } else if let list = name, line.hasPrefix("--   ") {
                for column in line.dropFirst("--   ".count).split(separator: ",") {
                    let words = column.split(separator: " ")
                    guard words.count == 2 else { throw StatementError("\(column) is no column with a type", line: index + 1) }
                    lists[list, default: []].append(Column(name: words[0], type: words[1]))
                }
            } else {
                name = nil
            }
        }
    }

    private func writeOut(_ text: String) throws(StatementError) -> String {
        var (output, rest, unused) = ("", Substring(text), Set(lists.keys))
        while let brace = rest.firstIndex(of: "{") {
            output += rest[..<brace]
            let inside = rest[brace...].dropFirst()
            let names = inside.prefix { Self.isOfName($0) || $0 == " " }
            let used = names.split(separator: " ")
            guard used.contains(where: { lists[$0] != nil }) else {
                output += "{"
                rest = inside
                continue
            }
            let line = 1 + output.count(where: \.isNewline)
            guard let end = inside.firstIndex(of: "}"), [":", "}"].contains(inside[names.endIndex]) else {
                throw StatementError("a list is written out as {NAME} or {NAME: TEXT}", line: line)
            }
            let template = names.endIndex == end ? "%name" : inside[names.endIndex..<end].dropFirst()
            output += try writtenOut(used, as: template, line: line)
            unused.subtract(used)
            rest = inside[end...].dropFirst()
        }
        if let name = unused.min() { throw StatementError("the list \(name) is not used", line: 1) }
        return output + rest
    }

    private func writtenOut(_ names: [Substring], as template: Substring, line: Int) throws(StatementError) -> String {
        var texts: [String] = []
        for name in names {
            guard let columns = lists[name] else { throw StatementError("there is no list \(name)", line: line) }
            texts += columns.map { column in
                template.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                    .replacing("%name", with: column.name).replacing("%type", with: column.type)
            }
        }
        return texts.joined(separator: ", ") + String(repeating: "\n", count: template.count(where: \.isNewline))
    }

    private static func isOfName(_ character: Character) -> Bool { character.isLetter || character.isNumber || character == "_" }
}
