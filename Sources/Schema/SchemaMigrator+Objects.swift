extension SchemaMigrator {
    /// A line for each object that differs from the schema that the program creates. Unlike ``differences()``, roles that only read may ask.
    ///
    /// - Returns: nil where nothing is known of this major version of PostgreSQL.
    package func objectDifferences() async throws -> [String]? {
        try await compare()?.lines
    }
}
