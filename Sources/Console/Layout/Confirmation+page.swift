import HTML

extension Confirmation {
    /// The page that asks. Its form brings back the fields, the yes, and the count that the person saw.
    func page(for form: ActionForm, at url: ConsoleURL) -> Page {
        Page(title: title, elsewhere: .nowhere) {
            explanation
            actionForm(url, button: button, isDangerous: isDangerous) {
                form.ownFields.map { hiddenField(name: $0.name, value: $0.value) }
                hiddenField(name: ActionForm.confirmedName, value: "yes")
                count.map { hiddenField(name: ActionForm.seenName, value: "\($0)") }
                fields
            }
        }
    }
}
