/// The signature of a function of `functions/`, read from `CREATE FUNCTION`.
package struct FunctionSignature: Equatable, Sendable {
    struct Parameter: Equatable {
        /// The name as it is written.
        let name: String
        let type: SQLType
        /// Whether the comment `/* null */` behind the type says that null is a value.
        let isNullable: Bool
        let initial: Default?
    }

    /// What a parameter is without an argument.
    enum Default: Equatable {
        /// A literal, or the word NULL, TRUE or FALSE.
        case constant(String)
        case expression
    }

    enum Result: Equatable {
        /// A value, or nothing.
        case value
        /// Rows of these columns; of one column or of a row type where there are no names.
        case rows(columns: [String])
        /// Nothing that a statement can call.
        case trigger
    }

    /// The name with its schema.
    package let name: String
    let parameters: [Parameter]
    let result: Result
}

extension FunctionSignature {
    /// The functions that a file creates. Procedures and aggregates are none.
    package static func all(in text: String, types: SchemaTypes) throws(StatementError) -> [FunctionSignature] {
        var cursor = try TokenCursor(text)
        var functions: [FunctionSignature] = []
        while cursor.next != nil {
            if try beginsFunction(&cursor) { functions.append(try FunctionSignature(&cursor, types)) }
            while cursor.next != nil, !cursor.takes(symbol: ";") { try cursor.take() }
        }
        return functions
    }

    private static func beginsFunction(_ cursor: inout TokenCursor) throws(StatementError) -> Bool {
        guard cursor.takes(word: "create") else { return false }
        if cursor.takes(word: "or") { try cursor.expect(word: "replace") }
        return cursor.takes(word: "function")
    }

    private init(_ cursor: inout TokenCursor, _ types: SchemaTypes) throws(StatementError) {
        name = try cursor.qualifiedName()
        try cursor.expect(symbol: "(")
        var parameters: [Parameter] = []
        var columns: [String] = []
        while !cursor.takes(symbol: ")") {
            if !parameters.isEmpty || !columns.isEmpty { try cursor.expect(symbol: ",") }
            let mode = try Mode(&cursor)
            let parameter = try Parameter(&cursor)
            if mode.isGiven { parameters.append(parameter) }
            if mode.isReturned { columns.append(parameter.name) }
        }
        self.parameters = parameters
        result = try Result(&cursor, columns: columns, types)
    }

    private struct Mode {
        let isGiven: Bool
        let isReturned: Bool

        init(_ cursor: inout TokenCursor) throws(StatementError) {
            if cursor.next?.isWord("variadic") == true { throw cursor.error("VARIADIC parameters are not supported") }
            isReturned = cursor.next.map { $0.isWord("out") || $0.isWord("inout") } == true
            isGiven = cursor.next?.isWord("out") != true
            if isReturned || cursor.next?.isWord("in") == true { try cursor.take() }
        }
    }
}

extension FunctionSignature.Parameter {
    fileprivate init(_ cursor: inout TokenCursor) throws(StatementError) {
        name = try cursor.name()
        if let end = cursor.next, end.isSymbol(",") || end.isSymbol(")") { throw cursor.error("\(name) has no name, or no type") }
        type = try SQLType(&cursor)
        isNullable = try cursor.takes(comment: StatementText.nullMark)
        initial = cursor.takes(word: "default") || cursor.takes(symbol: "=") ? try FunctionSignature.Default(&cursor) : nil
        if initial != nil, try cursor.takes(comment: StatementText.nullMark) {
            throw cursor.error("\(name): the mark of null is before DEFAULT")
        }
        guard let end = cursor.next, end.isSymbol(",") || end.isSymbol(")") else { throw cursor.unexpected(", or )") }
    }
}

extension FunctionSignature.Default {
    /// Reads until the comma or the parenthesis that ends the parameter.
    fileprivate init(_ cursor: inout TokenCursor) throws(StatementError) {
        var tokens: [SQLToken] = []
        var depth = 0
        while let next = cursor.next, depth > 0 || !(next.isSymbol(",") || next.isSymbol(")")) {
            if next.isSymbol("(") { depth += 1 }
            if next.isSymbol(")") { depth -= 1 }
            tokens.append(try cursor.take())
        }
        let isConstant =
            tokens.count == 1
            && (tokens[0].kind == .number || tokens[0].kind == .literal || ["null", "true", "false"].contains { tokens[0].isWord($0) })
        self = isConstant ? .constant(String(tokens[0].text)) : .expression
    }
}

extension FunctionSignature.Result {
    fileprivate init(_ cursor: inout TokenCursor, columns: [String], _ types: SchemaTypes) throws(StatementError) {
        guard cursor.takes(word: "returns") else {
            if columns.isEmpty { throw cursor.unexpected("RETURNS") }
            self = columns.count == 1 ? .value : .rows(columns: columns)
            return
        }
        if cursor.takes(word: "table") {
            self = .rows(columns: try Self.table(&cursor))
        } else if cursor.takes(word: "setof") {
            _ = try SQLType(&cursor)
            self = .rows(columns: columns)
        } else {
            let type = try SQLType(&cursor)
            if type.name == "record", columns.isEmpty { throw cursor.error("a record without OUT parameters has no columns") }
            let isRow = !type.isArray && (type.name == "record" || types.isRow(type.name))
            self = type.name == "trigger" ? .trigger : isRow ? .rows(columns: columns) : .value
        }
    }

    private static func table(_ cursor: inout TokenCursor) throws(StatementError) -> [String] {
        try cursor.expect(symbol: "(")
        var columns: [String] = []
        repeat {
            columns.append(try cursor.name())
            _ = try SQLType(&cursor)
        } while cursor.takes(symbol: ",")
        try cursor.expect(symbol: ")")
        return columns
    }
}

/// The SQL type of a bind, and what is bound for it.
struct BindType: Equatable {
    /// A type of which a value, or an array, can be bound.
    struct Element: Equatable {
        /// The type's name in SQL.
        let name: String
        /// The Swift type of a value.
        let swift: String
        /// The SQL type that this Swift type is sent as. The server casts it to the own one.
        let sent: String

        init(_ name: String, _ swift: String, sentAs sent: String? = nil) {
            self.name = name
            self.swift = swift
            self.sent = sent ?? name
        }
    }

    let element: Element
    let isArray: Bool

    /// The type in SQL.
    var name: String { element.name + suffix }
    /// The type that is declared to the server for the bind.
    var sent: String { element.sent + suffix }
    private var suffix: String { isArray ? "[]" : "" }

    /// The type of a parameter of a Swift function. Elements of an array may be optional, unless the array itself is.
    func swift(isNullable: Bool) -> String {
        switch (isArray, isNullable) {
        case (false, false): element.swift
        case (false, true): element.swift + "?"
        case (true, false): "[some PostgresArrayElement<\(element.swift)>]"
        case (true, true): "[\(element.swift)]?"
        }
    }
}

extension BindType.Element {
    static let text = Self("text", "String")
    static let jsonb = Self("jsonb", "JSONText")

    static let builtIn: [Self] = [
        .text, .jsonb, Self("boolean", "Bool"), Self("smallint", "Int16"), Self("integer", "Int32"), Self("bigint", "Int64"),
        Self("double precision", "Double"), Self("bytea", "[UInt8]"), Self("uuid", "UUID"), Self("timestamptz", "PostgresTimestamp"),
        Self("interval", "Duration"), Self("date", "String", sentAs: "text"),
    ]
}

/// The types that a schema declares.
package struct SchemaTypes: Sendable {
    private var enumerations: Set<String> = []
    private var composites: Set<String> = []
    /// Tables and views, whose rows are types.
    private var relations: Set<String> = []

    package init() {}

    /// Reads the types, tables and views that a file creates.
    package mutating func read(_ text: String) throws(StatementError) {
        var cursor = try TokenCursor(text)
        while cursor.next != nil {
            guard cursor.takes(word: "create") else {
                try cursor.take()
                continue
            }
            if cursor.takes(word: "or") { try cursor.expect(word: "replace") }
            if cursor.takes(word: "type") {
                let name = try cursor.qualifiedName()
                try cursor.expect(word: "as")
                if cursor.takes(word: "enum") { enumerations.insert(name) } else { composites.insert(name) }
            } else if cursor.takes(word: "view") || (cursor.takes(word: "unlogged"), cursor.takes(word: "table")).1 {
                relations.insert(try cursor.qualifiedName())
            }
        }
    }

    /// Whether a value of the type is a row.
    func isRow(_ name: String) -> Bool {
        composites.contains(name) || relations.contains(name)
    }

    /// Whether `CREATE TYPE … AS (…)` declares the type.
    func isComposite(_ name: String) -> Bool {
        composites.contains(name)
    }

    fileprivate func element(_ name: String) -> BindType.Element? {
        enumerations.contains(name) ? BindType.Element(name, "String", sentAs: "text") : BindType.Element.builtIn.first { $0.name == name }
    }

    func bindType(_ type: SQLType) -> BindType? {
        element(type.name).map { BindType(element: $0, isArray: type.isArray) }
    }
}

/// A type as it is written in SQL.
struct SQLType: Equatable, CustomStringConvertible {
    /// The type's name; of an array, that of its elements.
    let name: String
    let isArray: Bool

    init(name: String, isArray: Bool = false) {
        self.name = name
        self.isArray = isArray
    }

    /// Reads a type such as `appstore.environment[]`.
    init(_ cursor: inout TokenCursor) throws(StatementError) {
        var name = try cursor.qualifiedName()
        if name == "double", cursor.takes(word: "precision") { name = "double precision" }
        isArray = cursor.takes(symbol: "[")
        if isArray { try cursor.expect(symbol: "]") }
        self.name = name
    }

    var description: String { name + (isArray ? "[]" : "") }
}
