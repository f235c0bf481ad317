extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var postgresType: PostgresType { Wrapped.postgresType }

    package var isPostgresNull: Bool {
        switch self {
        case .none: true
        case .some(let value): value.isPostgresNull
        }
    }

    package func encode(into buffer: inout BindBuffer) throws(PostgresError) {
        guard case .some(let value) = self else { return }
        try value.encode(into: &buffer)
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package static func decode(_ field: Field) throws(PostgresError) -> Wrapped? {
        field.bytes == nil ? nil : try Wrapped.decode(field)
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresScalar {
    package typealias Scalar = Wrapped.Scalar

    package static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }

    package static func encode(elements: [Wrapped?], into buffer: inout BindBuffer) throws(PostgresError) {
        try Wrapped.encode(optionalElements: elements, into: &buffer)
    }

    package static func decode(elementsOf field: Field) throws(PostgresError) -> [Wrapped?] {
        try Wrapped.decode(optionalElementsOf: field)
    }
}
