/// The contract between the schema and the programs that work with it.
package enum SchemaContract {
    /// The version of the last step that is marked as breaking. A program works only with a database of the same contract.
    package static let current = SchemaManifest().contract
}

/// The schema that `appstore-inbox migrate` creates: the files of this folder, compiled into the program, in order of their paths.
package struct SchemaManifest: Sendable {
    /// The tables of a new database.
    package var tables = Self.tables
    /// The migrations from release to release, oldest first.
    package var steps = Self.steps
    /// The functions. Their order is free: their bodies are checked when all exist.
    package var functions = Self.functions
    /// The views. The path of each comes after those of the views that it reads.
    package var views = Self.views
    /// Creates the cluster's roles and their settings; safe to run repeatedly.
    package var roles = SchemaFile("roles", EmbeddedFiles.roles_sql)
    /// Grants all privileges of the roles.
    package var grants = SchemaFile("grants", EmbeddedFiles.grants_sql)
    /// The result of `appstore.schema_fingerprint()` in a database that these files created.
    package var fingerprint = SchemaFingerprint(SchemaFile("fingerprint", EmbeddedFiles.fingerprint_txt).text)

    /// The version of the schema that ``tables`` create: that of the last step, 1 before there are any.
    package var version: Int { steps.last?.version ?? 1 }
    /// The contract of the schema that ``tables`` create: the version of the last breaking step.
    package var contract: Int32 { Int32(steps.last(where: \.isBreaking)?.version ?? 1) }

    package init() {}

    private static let tables = SchemaFile.all(in: "tables")
    private static let steps = SchemaFile.all(in: "steps").map(SchemaStep.init(file:))
    private static let functions = SchemaFile.all(in: "functions")
    private static let views = SchemaFile.all(in: "views")
}

/// The digests of the schema's objects. `fingerprint.txt` has a line for each: the digest, a space and the object.
package struct SchemaFingerprint: Hashable, Sendable {
    /// The digests by the names of objects.
    package var digests: [String: String] = [:]

    package init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            digests[String(parts.last ?? "")] = String(parts[0])
        }
    }
}

/// A file of this folder.
package struct SchemaFile: Sendable {
    /// The path from this folder without the ending, such as `functions/inbox/receive`.
    package let name: String
    package let text: String

    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    init(_ name: String, _ bytes: [UInt8]) {
        self.init(name: name, text: String(decoding: bytes, as: UTF8.self))
    }

    fileprivate static func all(in folder: String) -> [SchemaFile] {
        EmbeddedFiles.all.filter { $0.path.hasPrefix(folder + "/") }.map { SchemaFile(String($0.path.dropLast(4)), $0.bytes) }
    }
}

/// A file of `steps/`, which migrates a database from one version to the next.
///
/// Its first lines are comments. `-- breaking` among them raises the contract: programs of earlier releases stop working with the database.
/// With `-- concurrently` the step makes indexes, or a value of an enum, which no statement of the transaction that adds it may use. It is a query,
/// and each row of its result is a statement: `CREATE INDEX CONCURRENTLY IF NOT EXISTS …`, `ALTER TYPE … ADD VALUE IF NOT EXISTS …`. They run ahead
/// of the transaction of the upgrade, and in it without `CONCURRENTLY`, for what earlier steps have just made.
/// With `-- after the definitions` it runs when functions and views are those of this release, to derive again what they derive otherwise.
package struct SchemaStep: Sendable {
    /// The number at the beginning of the file's name.
    package let version: Int
    package let file: SchemaFile

    /// - Parameter file: `steps/NNNN_verb_object`.
    package init(file: SchemaFile) {
        guard let version = Int(file.name.dropFirst("steps/".count).prefix { $0 != "_" }) else {
            preconditionFailure("\(file.name): the name of a step begins with its version")
        }
        self.version = version
        self.file = file
    }

    package var isBreaking: Bool { header.contains("-- breaking") }
    package var isConcurrent: Bool { header.contains("-- concurrently") }
    package var isAfterDefinitions: Bool { header.contains("-- after the definitions") }

    private var header: ArraySlice<Substring> { file.text.split(separator: "\n").prefix { $0.hasPrefix("--") } }
}
