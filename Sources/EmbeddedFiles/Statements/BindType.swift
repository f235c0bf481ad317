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
