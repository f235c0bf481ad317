/// A five-character condition code of PostgreSQL (Appendix A, "PostgreSQL Error Codes").
package struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first two characters: the class of the condition, such as `08` for connection exceptions.
    package var conditionClass: Substring { rawValue.prefix(2) }

    package var description: String { rawValue }
}

extension SQLState {
    package static let featureNotSupported = SQLState(rawValue: "0A000")
    package static let foreignKeyViolation = SQLState(rawValue: "23503")
    package static let uniqueViolation = SQLState(rawValue: "23505")
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    package static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    package static let invalidStatementName = SQLState(rawValue: "26000")
    package static let dependentObjectsStillExist = SQLState(rawValue: "2BP01")
    package static let invalidSchemaName = SQLState(rawValue: "3F000")
    package static let serializationFailure = SQLState(rawValue: "40001")
    package static let deadlockDetected = SQLState(rawValue: "40P01")
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    package static let undefinedColumn = SQLState(rawValue: "42703")
    package static let undefinedObject = SQLState(rawValue: "42704")
    package static let wrongObjectType = SQLState(rawValue: "42809")
    package static let undefinedFunction = SQLState(rawValue: "42883")
    package static let undefinedTable = SQLState(rawValue: "42P01")
    package static let duplicatePreparedStatement = SQLState(rawValue: "42P05")
    package static let ambiguousFunction = SQLState(rawValue: "42725")
    package static let invalidFunctionDefinition = SQLState(rawValue: "42P13")
    package static let invalidTableDefinition = SQLState(rawValue: "42P16")
    package static let lockNotAvailable = SQLState(rawValue: "55P03")
    package static let queryCanceled = SQLState(rawValue: "57014")
    package static let adminShutdown = SQLState(rawValue: "57P01")
    package static let crashShutdown = SQLState(rawValue: "57P02")
    package static let cannotConnectNow = SQLState(rawValue: "57P03")
}
