CREATE OR REPLACE FUNCTION appstore.check_argument(is_valid boolean, message text, hint text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF is_valid IS NOT TRUE THEN
        RAISE EXCEPTION '%', message USING ERRCODE = 'invalid_parameter_value', HINT = hint;
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.check_argument IS 'Fails with invalid_parameter_value, this message and this hint unless is_valid is true.';

CREATE OR REPLACE FUNCTION appstore.check_environment(environment appstore.environment) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM appstore.check_argument(environment IS NOT NULL, 'environment must not be null', 'Environments are Production and Sandbox.');
END
$$;
COMMENT ON FUNCTION appstore.check_environment IS 'Fails with invalid_parameter_value when the environment is null.';
