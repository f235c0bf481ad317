extension String {
    /// Whether the text may hold a password although none belongs there, such as a connection string in the wrong setting.
    var mayHoldSecret: Bool {
        contains("@") || contains("=") || contains(";") || lowercased().contains("password") || contains("://") && !hasPrefix("http")
    }

    /// The text with quotation marks, or without its content where it may hold a secret.
    var quotedUnlessSecret: String { mayHoldSecret ? "a text that is not shown" : "\"\(self)\"" }

    /// The message without arguments of a command line that may hold a secret. An argument that quotes are missing around comes in parts, of
    /// which only some look like one: then no argument is shown.
    func withoutSecrets(ofArguments arguments: [String]) -> String {
        let values = arguments.map { argument in
            argument.hasPrefix("--") ? argument.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init) ?? "" : argument
        }
        guard values.contains(where: \.mayHoldSecret) else { return self }
        return values.filter { !$0.isEmpty }.reduce(self) { message, value in
            let quoted = message.replacing("'\(value)'", with: "(not shown)").replacing("\"\(value)\"", with: "(not shown)")
            return value.mayHoldSecret ? quoted.replacing(value, with: "(not shown)") : quoted
        }
    }
}
