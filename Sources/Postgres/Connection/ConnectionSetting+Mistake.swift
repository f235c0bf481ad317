/// What is wrong with a connection string, in words of this file: libpq quotes the string in its messages, and each part of it may be a part of
/// a password.
struct ConnectionStringMistake {
    let description: String

    /// Explains why libpq refuses `conninfo` with `message`.
    init(_ message: String, of conninfo: String) {
        let isURL = Self.isURL(conninfo)
        let known = Self.explanations.first { message.hasPrefix($0.prefix) }?.text
        description =
            !isURL && conninfo.contains("://")
            ? "a URL must begin with postgresql:// or postgres://" : known ?? (isURL ? Self.asURL : Self.asPairs)
    }

    static func isURL(_ conninfo: String) -> Bool {
        conninfo.hasPrefix("postgresql://") || conninfo.hasPrefix("postgres://")
    }

    private static let asURL = "it must be postgresql://user:password@host:port/database, with % as %25, @ as %40 and / as %2F in each part"
    private static let asPairs = "it must be key=value pairs with spaces between them, and quotes around a value that contains a space"

    /// The beginnings of libpq's messages.
    private static let explanations: [(prefix: String, text: String)] = [
        ("unterminated quoted string", "a quotation mark is not closed; in a value, \\ stands before each ' and \\"),
        ("invalid connection option", "it contains an option that libpq does not know; " + asPairs),
        ("invalid percent-encoded token", "a % must be followed by two hexadecimal digits: % itself is written %25"),
        ("forbidden value %00", "it contains %00, which PostgreSQL does not accept"),
        ("end of string reached when looking for matching \"]\"", "the ] after an IPv6 address is missing"),
        ("IPv6 host address may not be empty", "there is no address between [ and ]"),
        ("invalid URI query parameter", "it contains an option after ? that libpq does not know"),
        ("missing key/value separator", "each option after ? must be key=value, with & between them"),
        ("extra key/value separator", "each option after ? must be key=value, with & between them"),
    ]
}
