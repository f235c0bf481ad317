/// A PostgreSQL type by its object id (`pg_type.oid`), with the id of the array over it.
package struct PostgresType: Hashable, Sendable {
    package let oid: UInt32
    /// Zero if there is no array over this type.
    package let arrayOID: UInt32

    package init(oid: UInt32, arrayOID: UInt32) {
        self.oid = oid
        self.arrayOID = arrayOID
    }

    /// The type of arrays over this type.
    package var array: PostgresType { PostgresType(oid: arrayOID, arrayOID: 0) }
}

extension PostgresType {
    package static let bool = PostgresType(oid: 16, arrayOID: 1000)
    package static let bytea = PostgresType(oid: 17, arrayOID: 1001)
    package static let int8 = PostgresType(oid: 20, arrayOID: 1016)
    package static let int2 = PostgresType(oid: 21, arrayOID: 1005)
    package static let int4 = PostgresType(oid: 23, arrayOID: 1007)
    package static let text = PostgresType(oid: 25, arrayOID: 1009)
    package static let json = PostgresType(oid: 114, arrayOID: 199)
    package static let float4 = PostgresType(oid: 700, arrayOID: 1021)
    package static let float8 = PostgresType(oid: 701, arrayOID: 1022)
    package static let timestamptz = PostgresType(oid: 1184, arrayOID: 1185)
    package static let interval = PostgresType(oid: 1186, arrayOID: 1187)
    package static let uuid = PostgresType(oid: 2950, arrayOID: 2951)
    package static let jsonb = PostgresType(oid: 3802, arrayOID: 3807)
}
