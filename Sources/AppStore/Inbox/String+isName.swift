import StrictJSON

extension String {
    /// Whether the text can name a user, a product or a purchase: 1 to 255 characters (Unicode scalars, as PostgreSQL and JSON Schema count
    /// them), without U+0000, which PostgreSQL cannot store.
    package var isName: Bool { (1...255).contains(unicodeScalars.count) && !hasNUL }
}
